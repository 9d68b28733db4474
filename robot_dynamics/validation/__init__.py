"""Evidence: the laws of physics, the textbooks' closed forms, and other engines' opinions.

`identities` are laws that hold for every robot, each a function that returns how far it is off;
`closed_forms` are robots worked out by hand; `cross_check` compares all formulations on a robot,
`operation_counts` what they cost. `engine_check.validate` compares a robot with
PyBullet, MuJoCo or Pinocchio, each in a process of its own:

    states            where to compare
    bare_urdf         the robot without what has no part in its torques
    *_engine          one engine each; `engines` lists them
    engine_worker     the process they run in; `engine_process` is its other end
    judge             an engine's answers in our coordinates
    examiner          judge after judge, in small steps, and then live observations
    report            PASS, FAIL, NOT COMPARABLE or NO ENGINE, and why

`recorded` compares a robot with what it has measured itself.
"""
