# SPDX-License-Identifier: Apache-2.0
"""A physically consistent model that predicts the recorded efforts.

estimation           `identify`: the steps from a recording to a model
observations         rows of a recording: regressor, efforts, friction features, filtered
equations            unknowns and weighted equations, linearised where drive gains are unknown
parameter_fit        weights, and the fit of all parameters
covariance           certainty, with correlated residuals and friction that differs by recording
pseudo_inertia       the convex problem, closest to the description; `solver` solves it
base_parameters      combinations of inertial parameters that torques determine
base_fit             least squares on the base parameters
friction_choice      friction law and pre-sliding lengths by the residual held out
delay                constant delay of the efforts
excitation_check     whether a recording identifies an arm
identified_validation  residuals before and after, and drift
identified_files     URDF, YAML and JSON; identified_text and identified_report for people
"""
