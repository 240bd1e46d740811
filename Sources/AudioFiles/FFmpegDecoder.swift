#if FFmpeg
    internal import CFFmpeg
    internal import Glibc

    /// The bytes that FFmpeg reads.
    @safe final class FFmpegInput {
        let read: (UnsafeMutableRawBufferPointer) -> Int
        let seek: (Int64, Int32) -> Int64
        let isSeekable: Bool

        init(
            isSeekable: Bool, read: @escaping (UnsafeMutableRawBufferPointer) -> Int,
            seek: @escaping (Int64, Int32) -> Int64
        ) {
            unsafe (self.isSeekable, self.read, self.seek) = (isSeekable, read, seek)
        }
    }

    /// AAC and ALAC, in M4A or bare, decoded by FFmpeg.
    ///
    /// It opens nothing but what it is given: of FFmpeg's formats only those that are named here are allowed, since some of
    /// the others open further files or the network.
    @safe final class FFmpegDecoder {
        private let input: FFmpegInput
        private var format: UnsafeMutablePointer<AVFormatContext>?
        private var codec: UnsafeMutablePointer<AVCodecContext>?
        private var packet: UnsafeMutablePointer<AVPacket>?
        private var frame: UnsafeMutablePointer<AVFrame>?
        private var stream: Int32 = 0
        private(set) var sampleRate = 0
        private(set) var channelCount = 0
        private(set) var encoding = ""
        private(set) var tags: [AudioFileTag: String] = [:]
        /// Indicates whether the container knows where each frame lies.
        private var isIndexed = false
        /// The samples of `frame` that have been taken.
        private var taken = 0
        private var isDraining = false
        private var isOver = false
        /// The time of the first frame, in frames.
        private var origin: Int64?

        /// Opens a sound; `nil` if it is none of these.
        init?(_ input: FFmpegInput) {
            self.input = input
            av_log_set_level(AV_LOG_QUIET)
            guard open() else { return nil }
        }

        deinit { close() }

        private func open() -> Bool {
            let size = 4_096
            guard let memory = unsafe av_malloc(size) else { return false }
            let address = unsafe Unmanaged.passUnretained(input).toOpaque()
            let io = unsafe avio_alloc_context(
                memory.assumingMemoryBound(to: UInt8.self), Int32(size), 0, address,
                { address, room, count in
                    let input = unsafe Unmanaged<FFmpegInput>.fromOpaque(address!).takeUnretainedValue()
                    let read = unsafe input.read(UnsafeMutableRawBufferPointer(start: room, count: Int(count)))
                    return read > 0 ? Int32(read) : cffmpeg_end()
                }, nil,
                { address, offset, origin in
                    unsafe Unmanaged<FFmpegInput>.fromOpaque(address!).takeUnretainedValue().seek(offset, origin)
                })
            guard let io = unsafe io else {
                unsafe av_free(memory)
                return false
            }
            unsafe io.pointee.seekable = input.isSeekable ? AVIO_SEEKABLE_NORMAL : 0
            var context = unsafe avformat_alloc_context()
            unsafe context?.pointee.pb = io
            var options: OpaquePointer?
            unsafe av_dict_set(&options, "format_whitelist", "mov,mp4,m4a,3gp,3g2,mj2,aac", 0)
            unsafe av_dict_set(&options, "codec_whitelist", "aac,alac", 0)
            let result = unsafe avformat_open_input(&context, nil, nil, &options)
            unsafe av_dict_free(&options)
            guard result == 0, let opened = unsafe context else {
                unsafe FFmpegDecoder.free(io)
                return false
            }
            unsafe format = opened
            unsafe (packet, frame) = (av_packet_alloc(), av_frame_alloc())
            guard unsafe avformat_find_stream_info(opened, nil) >= 0, unsafe choose(opened) else {
                close()
                return false
            }
            unsafe learn(opened)
            return sampleRate > 0 && channelCount > 0
        }

        private func choose(_ format: UnsafeMutablePointer<AVFormatContext>) -> Bool {
            var decoder: UnsafePointer<AVCodec>?
            stream = unsafe av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, &decoder, 0)
            guard stream >= 0, let decoder = unsafe decoder, let context = unsafe avcodec_alloc_context3(decoder) else {
                return false
            }
            unsafe codec = context
            let parameters = unsafe format.pointee.streams[Int(stream)]!.pointee.codecpar
            unsafe context.pointee.pkt_timebase = format.pointee.streams[Int(stream)]!.pointee.time_base
            guard unsafe avcodec_parameters_to_context(context, parameters) >= 0,
                unsafe avcodec_open2(context, decoder, nil) >= 0
            else { return false }
            for index in 0..<Int(unsafe format.pointee.nb_streams) where index != Int(stream) {
                unsafe format.pointee.streams[index]!.pointee.discard = AVDISCARD_ALL
            }
            return true
        }

        private func learn(_ format: UnsafeMutablePointer<AVFormatContext>) {
            guard let codec = unsafe codec else { return }
            sampleRate = Int(unsafe codec.pointee.sample_rate)
            channelCount = Int(unsafe codec.pointee.ch_layout.nb_channels)
            encoding = unsafe String(cString: avcodec_get_name(codec.pointee.codec_id)).uppercased()
            isIndexed = unsafe String(cString: format.pointee.iformat.pointee.name).hasPrefix("mov")
            let names: [(AudioFileTag, String)] = [
                (.title, "title"), (.artist, "artist"), (.album, "album"), (.trackNumber, "track"), (.genre, "genre"),
                (.date, "date"), (.comment, "comment"), (.copyright, "copyright"), (.software, "encoder"),
            ]
            for (tag, name) in names {
                guard let entry = unsafe av_dict_get(format.pointee.metadata, name, nil, 0),
                    let value = unsafe entry.pointee.value
                else { continue }
                tags[tag] = unsafe SoundFile.string(UnsafeRawBufferPointer(start: value, count: strlen(value)))
            }
        }

        /// The name of the container.
        var container: String { isIndexed ? "M4A" : "ADTS" }

        private func close() {
            unsafe av_packet_free(&packet)
            unsafe av_frame_free(&frame)
            unsafe avcodec_free_context(&codec)
            let io = unsafe format?.pointee.pb
            unsafe avformat_close_input(&format)
            if let io = unsafe io { unsafe FFmpegDecoder.free(io) }
        }

        private static func free(_ io: UnsafeMutablePointer<AVIOContext>) {
            unsafe av_free(io.pointee.buffer)
            var io: UnsafeMutablePointer<AVIOContext>? = unsafe io
            unsafe avio_context_free(&io)
        }

        // MARK: Frames

        /// Decodes frames, whose channels take turns. Returns how many: 0 at the end.
        func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
            var done = 0
            while done < frames, let frame = unsafe frame {
                let left = Int(unsafe frame.pointee.nb_samples) - taken
                if left <= 0 {
                    // The bytes that are there go out before it waits for more.
                    if done > 0 && !input.isSeekable || !next() { break }
                    continue
                }
                let count = min(left, frames - done)
                unsafe copy(frame, from: taken, count, to: room + done * channelCount)
                taken += count
                done += count
            }
            return done
        }

        /// Decodes the next frame. `false` at the end.
        private func next() -> Bool {
            guard let codec = unsafe codec, let frame = unsafe frame, !isOver else { return false }
            taken = 0
            while true {
                let result = unsafe avcodec_receive_frame(codec, frame)
                if result == 0 {
                    if Int(unsafe frame.pointee.sample_rate) != sampleRate { continue }
                    if origin == nil { origin = unsafe time(of: frame) }
                    return true
                }
                // After a packet that makes no sense the next may.
                if isDraining && cffmpeg_is_again(result) == 0 {
                    isOver = true
                    unsafe av_frame_unref(frame)
                    return false
                }
                unsafe feed(codec)
            }
        }

        private func feed(_ codec: UnsafeMutablePointer<AVCodecContext>) {
            guard let format = unsafe format, let packet = unsafe packet else { return }
            while unsafe av_read_frame(format, packet) >= 0 {
                let isOurs = unsafe packet.pointee.stream_index == stream
                if isOurs { unsafe avcodec_send_packet(codec, packet) }
                unsafe av_packet_unref(packet)
                if isOurs { return }
            }
            isDraining = true
            unsafe avcodec_send_packet(codec, nil)
        }

        private func time(of frame: UnsafeMutablePointer<AVFrame>) -> Int64? {
            let time = unsafe frame.pointee.best_effort_timestamp
            guard cffmpeg_is_time(time) != 0, let format = unsafe format else { return nil }
            return unsafe cffmpeg_frames(
                time, format.pointee.streams[Int(stream)]!.pointee.time_base, Int32(sampleRate))
        }

        private func copy(
            _ frame: UnsafeMutablePointer<AVFrame>, from first: Int, _ count: Int, to room: UnsafeMutablePointer<Float>
        ) {
            let channels = Int(unsafe frame.pointee.ch_layout.nb_channels)
            let kind = AVSampleFormat(rawValue: unsafe frame.pointee.format)
            let isPlanar = av_sample_fmt_is_planar(kind) != 0
            let packed = av_get_packed_sample_fmt(kind)
            for channel in 0..<channelCount {
                for index in 0..<count {
                    var sample: Float = 0
                    if channel < channels,
                        let plane = unsafe frame.pointee.extended_data[isPlanar ? channel : 0].map({
                            UnsafeRawPointer($0)
                        })
                    {
                        let place = isPlanar ? first + index : (first + index) * channels + channel
                        switch packed {
                        case AV_SAMPLE_FMT_FLT: sample = unsafe plane.load(fromByteOffset: 4 * place, as: Float.self)
                        case AV_SAMPLE_FMT_S16:
                            sample = Float(unsafe plane.load(fromByteOffset: 2 * place, as: Int16.self)) * 0x1p-15
                        case AV_SAMPLE_FMT_S32:
                            sample = Float(unsafe plane.load(fromByteOffset: 4 * place, as: Int32.self)) * 0x1p-31
                        case AV_SAMPLE_FMT_DBL:
                            sample = Float(unsafe plane.load(fromByteOffset: 8 * place, as: Double.self))
                        default: break
                        }
                    }
                    unsafe room[index * channelCount + channel] = sample
                }
            }
        }

        // MARK: Places

        /// Counts the frames, without decoding them, and goes back to the first.
        func count() -> Int64? {
            guard let format = unsafe format, let packet = unsafe packet else { return nil }
            var (time, surplus): (Int64, Int64) = (0, 0)
            while unsafe av_read_frame(format, packet) >= 0 {
                if unsafe packet.pointee.stream_index == stream {
                    time += unsafe packet.pointee.duration
                    var size = 0
                    if let skip = unsafe av_packet_get_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 8 {
                        for byte in 0..<8 { surplus += Int64(unsafe skip[byte]) << Int64(8 * (byte & 3)) }
                    }
                }
                unsafe av_packet_unref(packet)
            }
            let base = unsafe format.pointee.streams[Int(stream)]!.pointee.time_base
            let count = cffmpeg_frames(time, base, Int32(sampleRate)) - surplus
            return restart() ? max(0, count) : nil
        }

        /// Begins anew.
        private func restart() -> Bool {
            close()
            (taken, isDraining, isOver, origin) = (0, false, false, nil)
            return input.seek(0, SEEK_SET) == 0 && open()
        }

        /// Goes to a frame. Returns whether it exists.
        func seek(to target: Int64) -> Bool {
            if isIndexed && target > 32_768, let origin, jump(to: target, origin) { return true }
            return restart() && skip(target)
        }

        /// Goes to a packet some time before the frame, so that the decoder has heard what it builds on.
        private func jump(to target: Int64, _ origin: Int64) -> Bool {
            guard let format = unsafe format, let codec = unsafe codec, let frame = unsafe frame else { return false }
            let base = unsafe format.pointee.streams[Int(stream)]!.pointee.time_base
            let time = cffmpeg_time(target + origin - 16_384, base, Int32(sampleRate))
            guard unsafe av_seek_frame(format, stream, time, AVSEEK_FLAG_BACKWARD) >= 0 else { return false }
            unsafe avcodec_flush_buffers(codec)
            unsafe av_frame_unref(frame)
            (taken, isDraining, isOver) = (0, false, false)
            guard next(), let place = unsafe self.time(of: frame), place - origin <= target else { return false }
            return skip(target - (place - origin))
        }

        private func skip(_ frames: Int64) -> Bool {
            unsafe passOver(frames, channels: channelCount) { unsafe read($0, into: $1) }
        }
    }
#endif
