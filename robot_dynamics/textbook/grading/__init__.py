# SPDX-License-Identifier: Apache-2.0
"""A grader: functions of a robot's dynamics, checked against the laws and a known robot.

grader       `check`
functions    calls of the functions under test, and their errors
terms        M, C qd and g of any function
task         Lambda and eta, and mistakes in them
laws         the laws, by name
examination  the record of a check, with sizes and tolerances
single_laws  laws of one function
shared_laws  laws between functions, and between a function and the robot
references   known robots, and mistakes in their parameters
mistakes     typical mistakes, by name
causes       which mistakes make the seen values of the right ones
parameters   the single parameter that is wrong
report       the result
"""

from robot_dynamics.textbook.grading.functions import FunctionError as FunctionError
from robot_dynamics.textbook.grading.grader import check as check
from robot_dynamics.textbook.grading.grading_report import FailedLaw as FailedLaw
from robot_dynamics.textbook.grading.grading_report import Report as Report
