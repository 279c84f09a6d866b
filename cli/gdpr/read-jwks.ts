import { refuse } from '../../domain/core/refusal.ts';
import { readSigningKeys, type SigningKey } from '../../domain/core/signed-document.ts';
import type { ProcessIo } from '../core/command-context.ts';
import { readText } from '../core/read-input.ts';

const ANSWER_MS = 30_000;

/** Returns the public keys in a file or at a URL. Refuses one without keys. */
export async function readJwks(io: Pick<ProcessIo, 'stdin'>, place: string): Promise<SigningKey[]> {
  const text = await (/^https?:/i.test(place) ? fetchText(place) : readText(io, place));
  const keys = readSigningKeys(parse(text));
  return keys && keys.length > 0
    ? keys
    : refuse(400, 'bad_jwks', `${place} holds no set of Ed25519 keys, as a server shows it at /.well-known/jwks.json.`);
}

async function fetchText(url: string): Promise<string> {
  const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(({ message, cause }: Error) => {
    const { code } = (cause ?? {}) as NodeJS.ErrnoException;
    return refuse(502, 'unreachable', `${url} does not answer (${code ?? message}).`);
  });
  return reply.ok ? reply.text() : refuse(502, 'unreachable', `${url} answers ${reply.status}.`);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
