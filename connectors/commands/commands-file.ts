/** Reads the operator's file of commands (MILLRACE_TAPS). */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** An operator's program that reads an outside system. */
export type Command = {
  kind: 'singer' | 'airbyte';
  /** The program's path and its first arguments. */
  command: string[];
  /** Environment, in addition to PATH, HOME, TMPDIR and LANG. */
  env: Record<string, string>;
  timeoutMinutes: number;
  /** Maximum memory of each of its processes, in MiB. */
  memoryMib: number;
  /** The Singer tap's option for the catalogue; taps of Singer's first years have `--properties`. */
  catalogOption: '--catalog' | '--properties';
};

/** Commands by the names that settings use. */
export type Commands = ReadonlyMap<string, Command>;

const text = z.string('is a text').refine((value) => !value.includes('\0'), 'holds a zero byte');

const entry = z
  .strictObject(
    {
      kind: z.enum(['singer', 'airbyte'], 'is singer or airbyte'),
      command: z
        .array(text, 'is a list: the program, then its arguments')
        .min(1, 'names no program')
        .refine(([program]) => program?.startsWith('/') ?? true, 'begins with the path of a program, from / on'),
      env: z
        .record(
          z.string().regex(/^[A-Za-z_]\w*$/, 'has a name that no variable can have'),
          text,
          'is an object of texts',
        )
        .default({}),
      timeout_minutes: z
        .number('is a number')
        .positive('is more than 0')
        .max(10_080, 'is at most 10080, a week')
        .default(360),
      memory_mib: z
        .int('is a whole number')
        .min(64, 'is at least 64')
        .max(1_048_576, 'is at most 1048576')
        .default(2_048),
      catalog_option: z.enum(['--catalog', '--properties'], 'is --catalog or --properties').default('--catalog'),
    },
    'is an object',
  )
  .transform(({ timeout_minutes, memory_mib, catalog_option, ...rest }): Command => ({
    ...rest,
    timeoutMinutes: timeout_minutes,
    memoryMib: memory_mib,
    catalogOption: catalog_option,
  }));

const NAME = /^[a-z\d][a-z\d_-]{0,63}$/;
const file = z.record(
  z.string().regex(NAME, 'has a name that is not of small letters, digits, _ and -'),
  entry,
  'is not an object',
);

/** Reads the file of MILLRACE_TAPS; returns its fault as the end of a sentence. */
export function readCommandsFile(path: string): Commands | string {
  let json: string;
  try {
    json = readFileSync(path, 'utf8');
  } catch {
    return 'names no file that can be read';
  }
  return readCommands(json);
}

export function readCommands(json: string): Commands | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return 'names a file that is not JSON';
  }
  const read = file.safeParse(parsed);
  if (read.success) return new Map(Object.entries(read.data));
  return `names a file with errors: ${read.error.issues.flatMap(errorsOf).join('; ')}`;
}

/** Returns the position and the fault without the file's content: its env may have secrets. */
function errorsOf(issue: z.core.$ZodIssue): string[] {
  const place = issue.path.map(String).join('.') || 'the whole';
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${place}.${key} is not known`);
  if (issue.code === 'invalid_key') return [`${place} ${issue.issues[0]?.message ?? issue.message}`];
  return [`${place} ${issue.message}`];
}
