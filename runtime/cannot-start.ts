/** A reason why a process cannot start, in words for its operator; shown without a stack. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
