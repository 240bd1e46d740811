// Rooms: see Reverb and ConvolutionReverb.
