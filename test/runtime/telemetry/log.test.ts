import { expect, test } from 'vitest';
import { createLog } from '../../../runtime/telemetry/log.ts';

function logged(write: (log: ReturnType<typeof createLog>) => void, level = 'info'): Record<string, unknown>[] {
  const lines: string[] = [];
  write(
    createLog({
      level,
      destination: {
        write: (line) => {
          lines.push(line);
        },
      },
    }),
  );
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a line is one JSON object with its level, its time and what was given', () => {
  expect(logged((log) => log.info({ requestId: 'r1', rows: 3 }, 'imported %d', 3))).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      requestId: 'r1',
      rows: 3,
      msg: 'imported 3',
    },
  ]);
});

test('as text a line is for people, with the same left out', () => {
  const lines: string[] = [];
  const log = createLog({
    level: 'warn',
    format: 'text',
    destination: {
      write: (line) => {
        lines.push(line);
      },
    },
  });
  log.warn({ rows: 3, token: 'Pl4nted5ecret' }, 'imported');
  log.error({ err: new Error('alice@example.com') }, 'failed');
  expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: imported \{"rows":3,"token":"\(struck out\)"\}\n$/);
  expect(lines[1]).toMatch(/ERROR: failed/);
  expect(lines.join('')).not.toMatch(/Pl4nted5ecret|alice/);
});

test('what lies below the level is left out', () => {
  expect(
    logged((log) => {
      log.info('a');
      log.warn('b');
    }, 'warn'),
  ).toMatchObject([{ msg: 'b' }]);
});

test('fields that may hold a secret are struck out, at the top and within', () => {
  const secret = 'Pl4nted5ecret';
  const request = { headers: { cookie: secret }, body: { password: secret } };
  const fields = { token: secret, api_key: secret, request, user: { authorization: secret } };
  const [line] = logged((log) => log.info({ ...fields, kept: 'x' }, 'm'));
  expect(line).toMatchObject({ token: '(struck out)', kept: 'x' });
  expect(JSON.stringify(line)).not.toContain(secret);
});

test('of an error its text is left out, however it is logged', () => {
  const value = 'alice@example.com';
  const error = Object.assign(new TypeError(`invalid value "${value}"`, { cause: new Error(value) }), {
    code: '22P02',
    detail: value,
  });
  const lines = logged((log) => {
    log.error(error);
    log.error({ err: error });
    log.error({ err: error }, 'a step failed');
    log.error(error, 'a step failed');
  });
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line.err).toMatchObject({ errorClass: 'TypeError', code: '22P02' });
  expect(lines.map(({ msg }) => msg)).toEqual(['', '', 'a step failed', 'a step failed']);
  expect(JSON.stringify(lines)).not.toContain(value);
});

test('of an error no line of its message is taken for a frame, whatever it looks like', () => {
  const quoted = 'first\n    at alice@example.com\n    at alice (/home/alice.ts:1:2)\n    at file:///alice.ts:3:4';
  const mutated = Object.assign(new Error(quoted), { message: 'something else' });
  for (const error of [new Error(quoted), new Error(quoted, { cause: new Error(quoted) })]) {
    const [line] = logged((log) => log.error(error));
    const { frames } = line!.err as { frames: string[] };
    expect(frames.length).toBeGreaterThan(0);
    expect(JSON.stringify(line)).not.toContain('alice');
  }
  expect(JSON.stringify(logged((log) => log.error(mutated)))).not.toContain('alice@example.com');
});
