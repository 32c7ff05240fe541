// JSON that has been written already, in another thread, so that the one that answers requests does not do it again.

/** `Value` is what the text says. */
export class JsonText<Value> {
  readonly text: string
  declare readonly says: Value
  constructor(text: string) {
    this.text = text
  }
}
