import { expect, it } from 'vitest';
import { BROKEN_OFF, UNREACHABLE } from '../../../api/client.ts';
import { untilAnswered } from '../../../cli/core/until-answered.ts';
import { refuse } from '../../../domain/core/refusal.ts';

/** A server that gives these answers in turn. */
function asking(...answers: (() => string)[]) {
  const said: string[] = [];
  const ask = async () => answers.shift()!();
  return { said, answer: (maxMs: number) => untilAnswered(ask, (text) => said.push(text), { everyMs: 1, maxMs }) };
}

it('asks again while the server restarts, and says once that it is away and that it is back', async () => {
  const { said, answer } = asking(
    () => refuse(503, BROKEN_OFF, 'broken off'),
    () => refuse(503, UNREACHABLE, 'away'),
    () => refuse(502, 'bad_gateway', 'a proxy'),
    () => 'here',
  );
  expect(await answer(600_000)).toBe('here');
  expect(said).toEqual([
    'The server does not answer. Asking again for 10 minutes; Ctrl-C ends this.',
    'The server answers again.',
  ]);
});

it('ends at any other refusal, and once the server was away for too long', async () => {
  await expect(asking(() => refuse(404, 'not_found', 'no such app')).answer(600_000)).rejects.toThrow('no such app');
  const away = () => refuse(503, UNREACHABLE, 'away');
  await expect(asking(away, away).answer(0)).rejects.toThrow('away');
});
