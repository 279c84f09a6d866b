/** Properties of the terminal that affect texts for people. */
export type Terminal = {
  /** Characters a line; null without a terminal, then nothing is cut. */
  width: number | null;
  /** The command as it was called, for hints that can be copied. */
  command: string;
};

/**
 * Reads the terminal from variables that `npx` sets. Without `--no-install`, `npx` would ask the public registry for a
 * missing command.
 */
export function terminalOf({ env, stdout }: { env: NodeJS.ProcessEnv; stdout: object }): Terminal {
  const { columns } = stdout as { columns?: number };
  const width = columns ?? Number(env.COLUMNS);
  const byNpx = env.npm_command === 'exec' && env.npm_lifecycle_event === 'npx';
  return {
    width: Number.isSafeInteger(width) && width > 0 ? width : null,
    command: byNpx ? 'npx --no-install millrace' : 'millrace',
  };
}
