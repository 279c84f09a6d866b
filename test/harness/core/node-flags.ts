import manifest from '../../../package.json' with { type: 'json' };

/**
 * The options of Node with which `npm run` starts it: how much memory a process takes depends on them, which is part of
 * what is tested.
 */
export function nodeFlags(script: 'serve' | 'work'): string[] {
  return manifest.scripts[script].split(' ').filter((word) => word.startsWith('--'));
}
