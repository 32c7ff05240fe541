// JSON that another thread has serialized, to save time of the thread that answers requests.

/** JSON as a string. `Value`: type of the parsed text. */
export class JsonText<Value> {
  readonly text: string
  declare readonly says: Value
  constructor(text: string) {
    this.text = text
  }
}
