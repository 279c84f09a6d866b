import * as api from '../../api/accounts/signing-keys.ts';
import { JSON_HEADERS, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

/** Verifiers may cache the keys for an hour: a new key is published by the start that makes it. */
const HEADERS = { ...JSON_HEADERS, 'cache-control': 'public, max-age=3600' };

const listSigningKeys = route(
  api.listSigningKeys,
  async (_input, { secrets }) => new Reply({ keys: secrets.signingKeys() }, 200, HEADERS),
);

export const signingKeyRoutes: Route[] = [listSigningKeys];
