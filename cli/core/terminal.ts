/** Properties of a terminal that the texts for people depend on. */
export type Terminal = {
  /** Characters a line; null: there is no terminal, so nothing is cut. */
  width: number | null;
  /** The command as it was called, for hints that can be copied. */
  command: string;
};

/** `npx` sets the variables. Without `--no-install` it would ask the public registry where there is no such command. */
export function terminalOf({ env, stdout }: { env: NodeJS.ProcessEnv; stdout: object }): Terminal {
  const { columns } = stdout as { columns?: number };
  const width = columns ?? Number(env.COLUMNS);
  const byNpx = env.npm_command === 'exec' && env.npm_lifecycle_event === 'npx';
  return {
    width: Number.isSafeInteger(width) && width > 0 ? width : null,
    command: byNpx ? 'npx --no-install millrace' : 'millrace',
  };
}
