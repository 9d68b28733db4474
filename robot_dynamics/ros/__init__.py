"""What `simulator_node` is made of, from the schedule to what it offers people.

| module       | what it does                                            | ROS |
|--------------|---------------------------------------------------------|-----|
| `pace`       | when a step is due; late steps and clock jumps          | no  |
| `loop`       | with which torque, and what happens when none arrives   | no  |
| `requests`   | play, pause, step and reset, checked before they happen | no  |
| `parameters` | the node's parameters and what follows from them        | yes |
| `effects`    | those of friction, stops, drives and elasticity         | yes |
| `inputs`     | commands and wrenches from topics                       | yes |
| `services`   | requests from services                                  | yes |
| `recording`  | when a run is recorded                                  | yes |
"""
