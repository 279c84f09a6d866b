/** A reason why a process of Millrace can't start, in words for the person who started it: shown without a stack. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
