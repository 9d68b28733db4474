# SPDX-License-Identifier: Apache-2.0
"""A physically consistent model that predicts the recorded efforts.

estimation           `identify`: from recordings to a model, by the stages below
inputs               recordings, kind and scale of the efforts, options, checked
prepared_rows        rows of all recordings, fitted or held out
described_problem    the problem with the description as its start
stages               delay, friction law and fits, one after the other
identification_result  the fit in SI units; identification_records has its records
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
payload_check        whether a recording shows the payload that is given for it
identified_validation  residuals before and after, and drift
identified_files     URDF and YAML
identification_report  text and JSON; identification_page as HTML
"""
