# SPDX-License-Identifier: Apache-2.0
"""Measured signals: what a recording holds, and what evaluation and estimation begin with.

bag              joint states and robot description of a rosbag2 recording
recording_files  the same of CSV files, and the choice between both by the name of the file
recording        samples by joint in the model's order, and the samples that were omitted
coupling         motors that turn by several joints: robot and recording in their coordinates
drives           friction law, offset and delay of the efforts, beyond the description
sampling         evenly spaced samples between gaps
noise            noise of positions, velocities and efforts, from their spectra
smoothing        smooth positions, velocities and accelerations, without lag
velocities       recorded velocities without their lag, or derivatives of the positions
periods          average of repeated periods
gravity_setting  whether the efforts include gravity, from postures at rest
effort_columns   columns of an episode: efforts of the model, and torques from outside
effort_curves    figure of measured and computed efforts
"""
