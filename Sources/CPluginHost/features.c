// The features that a host offers its plug-ins.

#include "internal.h"
#include <sys/stat.h>

#ifdef CLV2_HAS_LILV

bool clv2_offers(const char *feature) {
    static const char *const offered[] = {
        LV2_URID__map,
        LV2_URID__unmap,
        LV2_OPTIONS__options,
        LV2_BUF_SIZE__boundedBlockLength,
        LV2_WORKER__schedule,
        LV2_LOG__log,
        LV2_STATE__makePath,
        LV2_STATE__mapPath,
        LV2_STATE__freePath,
        LV2_STATE__loadDefaultState,
        // Promises, which a host keeps or not, with nothing to hand over.
        LV2_STATE__threadSafeRestore,
        LV2_CORE__isLive,
        LV2_CORE__inPlaceBroken,
        LV2_CORE__hardRTCapable,
    };
    for (size_t i = 0; i < sizeof offered / sizeof *offered; i++)
        if (strcmp(offered[i], feature) == 0) return true;
    return false;
}

// MARK: - Log messages are dropped: a plug-in must not write into the program's standard output

static int log_print(LV2_Log_Handle handle, LV2_URID type, const char *format, ...) {
    (void)handle, (void)type, (void)format;
    return 0;
}

static int log_list(LV2_Log_Handle handle, LV2_URID type, const char *format, va_list arguments) {
    (void)handle, (void)type, (void)format, (void)arguments;
    return 0;
}

// MARK: - Paths: files stay where they are, and a plug-in's own go into a folder of the user

static char *make_path(LV2_State_Make_Path_Handle handle, const char *path) {
    (void)handle;
    const char *home = getenv("HOME");
    size_t length = strlen(home ? home : "/tmp") + strlen(path) + 40;
    char *whole = malloc(length);
    if (!whole) return NULL;
    snprintf(whole, length, "%s/.local/share/renderstack-lv2/%s", home ? home : "/tmp", path);
    // The plug-in finds the folders of its file there.
    for (char *end = strchr(whole + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = 0;
        mkdir(whole, 0755);
        *end = '/';
    }
    return whole;
}

static char *same_path(LV2_State_Map_Path_Handle handle, const char *path) {
    (void)handle;
    return clv2_copy(path);
}

static void free_path(LV2_State_Free_Path_Handle handle, char *path) {
    (void)handle;
    free(path);
}

void clv2_features(struct clv2_instance *instance) {
    instance->block_length = instance->frames;
    instance->minimum_length = 1;
    instance->sequence_size = 32768;
    instance->rate_option = (float)instance->rate;
    const struct clv2_urids *ids = &clv2_ids;
    LV2_Options_Option options[] = {
        {LV2_OPTIONS_INSTANCE, 0, ids->minimum_block, sizeof(int32_t), ids->int_, &instance->minimum_length},
        {LV2_OPTIONS_INSTANCE, 0, ids->maximum_block, sizeof(int32_t), ids->int_, &instance->block_length},
        {LV2_OPTIONS_INSTANCE, 0, ids->nominal_block, sizeof(int32_t), ids->int_, &instance->block_length},
        {LV2_OPTIONS_INSTANCE, 0, ids->sequence_size, sizeof(int32_t), ids->int_, &instance->sequence_size},
        {LV2_OPTIONS_INSTANCE, 0, ids->sample_rate, sizeof(float), ids->float_, &instance->rate_option},
        {LV2_OPTIONS_INSTANCE, 0, 0, 0, 0, NULL},
    };
    memcpy(instance->options, options, sizeof options);
    instance->schedule = (LV2_Worker_Schedule){instance, clv2_schedule};
    instance->make_path = (LV2_State_Make_Path){instance, make_path};
    instance->map_path = (LV2_State_Map_Path){instance, same_path, same_path};
    instance->free_path = (LV2_State_Free_Path){instance, free_path};
    instance->log = (LV2_Log_Log){instance, log_print, log_list};
    LV2_Feature feature[] = {
        {LV2_URID__map, &clv2_map},
        {LV2_URID__unmap, &clv2_unmap},
        {LV2_OPTIONS__options, instance->options},
        {LV2_BUF_SIZE__boundedBlockLength, NULL},
        {LV2_WORKER__schedule, &instance->schedule},
        {LV2_LOG__log, &instance->log},
        {LV2_STATE__makePath, &instance->make_path},
        {LV2_STATE__mapPath, &instance->map_path},
        {LV2_STATE__freePath, &instance->free_path},
        {LV2_STATE__loadDefaultState, NULL},
    };
    memcpy(instance->feature, feature, sizeof feature);
    for (size_t i = 0; i < sizeof feature / sizeof *feature; i++) instance->features[i] = &instance->feature[i];
}

#endif
