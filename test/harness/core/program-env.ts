/**
 * What a program of ours is started with beside its own variables: nothing else of the tests' environment reaches it.
 */
export function programEnv(): NodeJS.ProcessEnv {
  // What Node has made of a module is kept for the next process: a service starts in half the CPU time.
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE };
}
