/* Scratch memory holds anything before a call. What it really holds is what an earlier call left
 * there, and zeros at first: so that nobody is right because of that, it is filled. */
#include "judge/internal.h"

#include <string.h>

enum { SPOILT = 0xff }; /* NaN in every float type, -1 as an integer */

void kw_stage_spoil(struct stage *s, int slot)
{
	for (size_t i = (size_t)s->tensors; i < s->spec_count; i++) {
		if (s->spec[i].zero || s->spec[i].bytes == 0)
			continue; /* the player makes the zeros */
		memset(kw_session_room(s->session, slot, (int)i), SPOILT, s->spec[i].bytes);
		kw_session_push(s->session, slot, (int)i,
				NULL); /* the next run returns a failure */
	}
}
