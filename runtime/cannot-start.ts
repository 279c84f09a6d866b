/** A reason for the operator, shown without a stack. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
