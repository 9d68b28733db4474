# SPDX-License-Identifier: Apache-2.0
"""A physically consistent model that predicts the recorded efforts.

estimation           `identify`: the steps from a recording to a model
observations         rows of a recording: regressor, efforts, friction features, filtered
parameter_fit        weighted fit of all parameters, drive gains included
pseudo_inertia       the convex problem, closest to the description; `solver` solves it
base_parameters      combinations of inertial parameters that torques determine
base_fit             least squares on the base parameters
friction_choice      friction law and pre-sliding lengths by the residual held out
delay                constant delay of the efforts
excitation_check     whether a recording identifies an arm
identified_validation  residuals before and after, and drift
identified_files     URDF, YAML and JSON; identified_text and identified_report for people
"""
