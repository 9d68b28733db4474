"""The demonstration: a simulated arm follows a trajectory, with feed-forward and with PD alone.

    robot-dynamics demo --robot my_robot.urdf

The four nodes of the package run as processes of their own, as they would on a robot; this
package starts and watches them, asks for the motion, records what they publish, and judges it.

    robot.py       which robot: the user's, with joints that cannot be simulated locked
    motion.py      a trajectory that is gentle and yet in motion everywhere, for any robot
    graph.py       the four nodes, with the parameters of this demonstration
    supervisor.py  nodes as processes: started, restarted, stopped, nothing left behind
    recording.py   what was heard in one run, as arrays
    monitor.py     the ROS node that hears and asks
    conductor.py   the two runs, and what happens when a node dies in one
    figures.py     the numbers at the end, and the verdict
    screen.py      what people see while it runs
    picture.py     the same as a picture
    demo.py        all of it in order

Only monitor.py and conductor.py know ROS.
"""
