// A card's mixer that is none: a plug-in of ALSA's with volumes and switches in memory, which stay when it is closed.

#include <alsa/asoundlib.h>
#include <alsa/control_external.h>
#include <string.h>

// In hundredths of a decibel: from -65.25 in steps of 0.75, and from -12 in steps of 1.5; the lowest step of the third is silence.
static const unsigned int master_scale[] = {SND_CTL_TLVT_DB_SCALE, 8, (unsigned int)-6525, 75};
static const unsigned int capture_scale[] = {SND_CTL_TLVT_DB_SCALE, 8, (unsigned int)-1200, 150};
static const unsigned int silent_scale[] = {SND_CTL_TLVT_DB_SCALE, 8, (unsigned int)-4000, 100 | 0x10000};

struct element {
    const char *name;
    int is_switch, count;
    long most;
    const unsigned int *scale;
    long values[2];
};
struct mixer {
    const char *kind;
    int count;
    // A card that is pulled out: 1.
    int is_gone, opens;
    struct element elements[6];
};
static struct mixer mixers[] = {
    {"full", 5, 0, 0,
     {{"Headphone Playback Volume", 0, 2, 87, master_scale, {87, 87}},
      {"Master Playback Volume", 0, 2, 87, master_scale, {87, 87}},
      {"Master Playback Switch", 1, 2, 1, 0, {1, 1}},
      {"Capture Volume", 0, 2, 20, capture_scale, {8, 8}},
      {"Capture Switch", 1, 2, 1, 0, {1, 1}}}},
    {"split", 3, 0, 0,
     {{"PCM Playback Volume", 0, 2, 40, silent_scale, {40, 40}},
      {"Speaker Playback Switch", 1, 1, 1, 0, {1}},
      {"Mic Boost Volume", 0, 1, 20, capture_scale, {0}}}},
    {"plain", 2, 0, 0, {{"Master Playback Volume", 0, 2, 100, 0, {50, 50}}, {"Master Playback Switch", 1, 1, 1, 0, {1}}}},
    {"switch", 1, 0, 0, {{"Master Playback Switch", 1, 1, 1, 0, {1}}}},
    {"empty", 0, 0, 0, {{0}}},
};

struct mixer *rsmixer_find(const char *kind) {
    for (unsigned int i = 0; i < sizeof mixers / sizeof *mixers; i++)
        if (strcmp(mixers[i].kind, kind) == 0) return &mixers[i];
    return 0;
}
long rsmixer_value(struct mixer *mixer, int element, int channel) { return mixer->elements[element].values[channel]; }
void rsmixer_set(struct mixer *mixer, int element, long value) {
    mixer->elements[element].values[0] = mixer->elements[element].values[1] = value;
}
void rsmixer_remove(struct mixer *mixer, int is_gone) { mixer->is_gone = is_gone; }
int rsmixer_opens(struct mixer *mixer) { return mixer->opens; }

static struct element *element(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key) {
    return &((struct mixer *)ext->private_data)->elements[key];
}
static void ended(snd_ctl_ext_t *ext) {
    ((struct mixer *)ext->private_data)->opens--;
    free(ext);
}
static int elem_count(snd_ctl_ext_t *ext) { return ((struct mixer *)ext->private_data)->count; }
static int elem_list(snd_ctl_ext_t *ext, unsigned int offset, snd_ctl_elem_id_t *id) {
    snd_ctl_elem_id_set_interface(id, SND_CTL_ELEM_IFACE_MIXER);
    snd_ctl_elem_id_set_name(id, element(ext, offset)->name);
    return 0;
}
static snd_ctl_ext_key_t find_elem(snd_ctl_ext_t *ext, const snd_ctl_elem_id_t *id) {
    const struct mixer *mixer = ext->private_data;
    for (int i = 0; i < mixer->count; i++)
        if (strcmp(mixer->elements[i].name, snd_ctl_elem_id_get_name(id)) == 0) return (snd_ctl_ext_key_t)i;
    return SND_CTL_EXT_KEY_NOT_FOUND;
}
static int get_attribute(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, int *type, unsigned int *access, unsigned int *count) {
    const struct element *found = element(ext, key);
    *type = found->is_switch ? SND_CTL_ELEM_TYPE_BOOLEAN : SND_CTL_ELEM_TYPE_INTEGER;
    *access = SND_CTL_EXT_ACCESS_READWRITE;
    if (found->scale) *access |= SND_CTL_EXT_ACCESS_TLV_READ | SND_CTL_EXT_ACCESS_TLV_CALLBACK;
    *count = (unsigned int)found->count;
    return 0;
}
static int get_integer_info(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *least, long *most, long *step) {
    *least = 0;
    *most = element(ext, key)->most;
    *step = 1;
    return 0;
}
static int read_integer(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *value) {
    const struct element *found = element(ext, key);
    if (((struct mixer *)ext->private_data)->is_gone) return -ENODEV;
    for (int i = 0; i < found->count; i++) value[i] = found->values[i];
    return 0;
}
static int write_integer(snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, long *value) {
    struct element *found = element(ext, key);
    if (((struct mixer *)ext->private_data)->is_gone) return -ENODEV;
    for (int i = 0; i < found->count; i++) {
        if (value[i] < 0 || value[i] > found->most) return -EINVAL;
        found->values[i] = value[i];
    }
    return 1;
}
static int read_event(snd_ctl_ext_t *ext, snd_ctl_elem_id_t *id, unsigned int *mask) {
    (void)ext, (void)id, (void)mask;
    return -EAGAIN;
}
static int scale(
    snd_ctl_ext_t *ext, snd_ctl_ext_key_t key, int operation, unsigned int number, unsigned int *tlv, unsigned int size) {
    (void)number;
    const struct element *found = element(ext, key);
    if (operation != 0 || !found->scale) return -ENXIO;
    if (size < 4 * sizeof *tlv) return -ENOMEM;
    memcpy(tlv, found->scale, 4 * sizeof *tlv);
    return 0;
}
static const snd_ctl_ext_callback_t callbacks = {
    .close = ended, .elem_count = elem_count, .elem_list = elem_list, .find_elem = find_elem, .get_attribute = get_attribute,
    .get_integer_info = get_integer_info, .read_integer = read_integer, .write_integer = write_integer, .read_event = read_event,
};

SND_CTL_PLUGIN_DEFINE_FUNC(rsmixer) {
    (void)root;
    const char *kind = "full";
    snd_config_iterator_t i, next;
    snd_config_for_each(i, next, conf) {
        snd_config_t *entry = snd_config_iterator_entry(i);
        const char *id;
        if (snd_config_get_id(entry, &id) == 0 && strcmp(id, "kind") == 0) snd_config_get_string(entry, &kind);
    }
    struct mixer *mixer = rsmixer_find(kind);
    if (!mixer) return -ENOENT;
    if (mixer->is_gone) return -ENODEV;
    snd_ctl_ext_t *ext = calloc(1, sizeof *ext);
    if (!ext) return -ENOMEM;
    ext->version = SND_CTL_EXT_VERSION;
    strcpy(ext->id, "rsmixer");
    strcpy(ext->driver, "rsmixer");
    strcpy(ext->name, "rsmixer");
    strcpy(ext->longname, "A mixer in memory");
    strcpy(ext->mixername, "rsmixer");
    ext->poll_fd = -1;
    ext->callback = &callbacks;
    ext->private_data = mixer;
    ext->tlv.c = scale;
    int error = snd_ctl_ext_create(ext, name, mode);
    if (error < 0) {
        free(ext);
        return error;
    }
    mixer->opens++;
    *handlep = ext->handle;
    return 0;
}
SND_CTL_PLUGIN_SYMBOL(rsmixer);
