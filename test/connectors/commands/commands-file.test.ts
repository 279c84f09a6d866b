import { expect, it } from 'vitest';
import { readCommands, readCommandsFile } from '../../../connectors/commands/commands-file.ts';

it('a command is given with its kind and its program, and the rest has defaults', () => {
  const read = readCommands(
    JSON.stringify({
      crm: { kind: 'singer', command: ['/opt/tap-crm', '-v'] },
      shop: {
        kind: 'airbyte',
        command: ['/opt/source-shop'],
        env: { REGION: 'eu' },
        timeout_minutes: 0.5,
        memory_mib: 64,
        catalog_option: '--properties',
      },
    }),
  );
  expect(Object.fromEntries(read as ReadonlyMap<string, unknown>)).toEqual({
    crm: {
      kind: 'singer',
      command: ['/opt/tap-crm', '-v'],
      env: {},
      timeoutMinutes: 360,
      memoryMib: 2_048,
      catalogOption: '--catalog',
    },
    shop: {
      kind: 'airbyte',
      command: ['/opt/source-shop'],
      env: { REGION: 'eu' },
      timeoutMinutes: 0.5,
      memoryMib: 64,
      catalogOption: '--properties',
    },
  });
});

it('all that is wrong is told by its place, and nothing is quoted', () => {
  const read = readCommands(
    JSON.stringify({
      a: { kind: 'dbt', command: ['tap'] },
      b: { kind: 'singer', command: [], env: { 'A B': 'zqsecret' }, memory_mib: 63 },
      c: { kind: 'singer', command: '/opt/tap', timeout_minutes: 0, enviroment: {} },
      d: { kind: 'singer', command: ['/opt/tap\0'], env: { PIN: 1234 }, memory_mib: 1.5, timeout_minutes: 10_081 },
      E: { kind: 'singer', command: ['/opt/tap'] },
      f: null,
    }),
  ) as string;
  expect(read.replace('names a file with errors: ', '').split('; ').toSorted()).toEqual([
    'E has a name that is not of small letters, digits, _ and -',
    'a.command begins with the path of a program, from / on',
    'a.kind is singer or airbyte',
    'b.command names no program',
    'b.env.A B has a name that no variable can have',
    'b.memory_mib is at least 64',
    'c.command is a list: the program, then its arguments',
    'c.enviroment is not known',
    'c.timeout_minutes is more than 0',
    'd.command.0 holds a zero byte',
    'd.env.PIN is a text',
    'd.memory_mib is a whole number',
    'd.timeout_minutes is at most 10080, a week',
    'f is an object',
  ]);
});

it('a file that holds something else is told', () => {
  expect(readCommands('')).toBe('names a file that is not JSON');
  expect(readCommands('[]')).toBe('names a file with errors: the whole is not an object');
});

it('a file that is not there is told', () => {
  expect(readCommandsFile('/no/such/file')).toBe('names no file that can be read');
});
