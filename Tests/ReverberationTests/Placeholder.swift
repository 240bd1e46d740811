// See ReverbTests and ConvolutionReverbTests.
