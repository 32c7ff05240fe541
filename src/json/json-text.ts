// JSON that another thread has already serialized, so that the thread that answers requests does not have to.

/** `Value` is the type of the parsed text. */
export class JsonText<Value> {
  readonly text: string
  declare readonly says: Value
  constructor(text: string) {
    this.text = text
  }
}
