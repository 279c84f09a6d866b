import * as api from '../../api/accounts/signing-keys.ts';
import { JSON_HEADERS, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

/** A verifier may keep the keys for an hour: a new one is published with the start that draws it. */
const HEADERS = { ...JSON_HEADERS, 'cache-control': 'public, max-age=3600' };

const listSigningKeys = route(
  api.listSigningKeys,
  async (_input, { secrets }) => new Reply({ keys: secrets.signingKeys() }, 200, HEADERS),
);

export const signingKeyRoutes: Route[] = [listSigningKeys];
