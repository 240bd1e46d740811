internal import CALSA
internal import Glibc

/// Requests to a device, and the parameters that it agrees to.
enum HardwareParameters {
    /// Asks for the best of the wanted parameters that the device has.
    @unsafe static func negotiate(
        _ pcm: OpaquePointer, _ name: String, rate: Double, channels: Int, settings: ALSASettings
    ) throws(ALSAError) -> ALSAConfiguration {
        func check(_ error: Int32, _ what: String) throws(ALSAError) {
            if error >= 0 { return }
            if error == -EINVAL { throw .unsuitable(name: name, what: what) }
            throw .failed(name: name, what: "set its \(what)", error: -error)
        }
        var parameters: OpaquePointer?
        guard unsafe snd_pcm_hw_params_malloc(&parameters) == 0, let parameters = unsafe parameters else {
            throw .failed(name: name, what: "set its parameters", error: ENOMEM)
        }
        defer { unsafe snd_pcm_hw_params_free(parameters) }
        unsafe try check(snd_pcm_hw_params_any(pcm, parameters), "configuration")
        // A "plug" is to give the rates of its card: our own converter is far better than its.
        unsafe snd_pcm_hw_params_set_rate_resample(pcm, parameters, 0)
        let access = settings.accesses.first {
            unsafe snd_pcm_hw_params_set_access(pcm, parameters, $0.code) == 0
        }
        guard let access else { throw .unsuitable(name: name, what: "way to transfer samples") }
        let formats = settings.format.map { [$0] } ?? ALSAFormat.allCases
        let format = formats.first { unsafe snd_pcm_hw_params_set_format(pcm, parameters, $0.code) == 0 }
        guard let format else {
            throw .unsuitable(name: name, what: settings.format.map { "\($0)" } ?? "format that is known here")
        }
        var channelCount = UInt32(max(1, channels))
        unsafe try check(
            snd_pcm_hw_params_set_channels_near(pcm, parameters, &channelCount), "number of channels near \(channels)")
        var hertz = UInt32(max(1, rate.rounded()))
        unsafe try check(snd_pcm_hw_params_set_rate_near(pcm, parameters, &hertz, nil), "rate near \(rate) Hz")
        var period = snd_pcm_uframes_t(settings.period)
        unsafe try check(
            snd_pcm_hw_params_set_period_size_near(pcm, parameters, &period, nil),
            "period near \(settings.period) frames")
        var buffer = period * snd_pcm_uframes_t(settings.periods)
        unsafe try check(
            snd_pcm_hw_params_set_buffer_size_near(pcm, parameters, &buffer), "buffer near \(buffer) frames")
        unsafe try check(snd_pcm_hw_params(pcm, parameters), "configuration of these parameters")
        unsafe snd_pcm_hw_params_get_period_size(parameters, &period, nil)
        unsafe snd_pcm_hw_params_get_buffer_size(parameters, &buffer)
        // A period as long as the buffer leaves no time to render: two cycles at least.
        period = max(1, min(period, buffer / 2))

        var software: OpaquePointer?
        guard unsafe snd_pcm_sw_params_malloc(&software) == 0, let software = unsafe software else {
            throw .failed(name: name, what: "set its parameters", error: ENOMEM)
        }
        defer { unsafe snd_pcm_sw_params_free(software) }
        unsafe try check(snd_pcm_sw_params_current(pcm, software), "parameters")
        var boundary: snd_pcm_uframes_t = 0
        unsafe snd_pcm_sw_params_get_boundary(software, &boundary)
        // It is started by hand, stops when its memory has run out, and wakes us for a period.
        unsafe try check(snd_pcm_sw_params_set_start_threshold(pcm, software, boundary), "start")
        unsafe try check(snd_pcm_sw_params_set_stop_threshold(pcm, software, buffer), "stop")
        unsafe try check(snd_pcm_sw_params_set_avail_min(pcm, software, period), "wake-up")
        unsafe try check(snd_pcm_sw_params(pcm, software), "parameters")
        return ALSAConfiguration(
            device: name, sampleRate: Double(hertz), channelCount: Int(channelCount), format: format, access: access,
            period: Int(period), bufferSize: Int(buffer))
    }
}
