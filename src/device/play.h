/* play.h - the judge's side of a player: start, load, run, stop. Private to device/. */
#ifndef KW_DEVICE_PLAY_H
#define KW_DEVICE_PLAY_H

#include "device/slots.h"

enum kw_status kw_play_start(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
			     struct kw_error *err);
enum kw_status kw_play_load(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			    int timeout_ms, struct kw_play_result *r, struct kw_error *err);
enum kw_status kw_play_run(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			   struct kw_error *err);
void kw_play_stop(struct kw_player *p);
int64_t kw_play_linger(struct kw_player *p, int64_t ns);
const char *kw_play_layers(const struct kw_player *p);

#endif
