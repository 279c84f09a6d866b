/** What keeps a process of Millrace from starting, in words for whoever started it: shown without a stack. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
