import type { Caller } from '../http/caller.ts';
import type { Circumstances } from '../http/route.ts';
import type { ProfileListQuery } from './profile-query.ts';

export type AskedProfiles = Circumstances & { query: ProfileListQuery; caller: Caller };
