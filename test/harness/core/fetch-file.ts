import type { FastifyInstance } from 'fastify';
import { waitFor } from './wait.ts';

/** The file behind a link of a file export, once it is built; fails where it can't be. */
export async function fetchFile(app: FastifyInstance, link: string): Promise<Buffer> {
  const reply = await waitFor('the file', async () => {
    const answer = await app.inject({ method: 'GET', url: link.replace(/^https?:\/\/[^/]+/, '') });
    return answer.statusCode === 202 ? null : answer;
  });
  if (reply.statusCode !== 200) throw new Error(`${reply.statusCode}: ${reply.body}`);
  return reply.rawPayload;
}
