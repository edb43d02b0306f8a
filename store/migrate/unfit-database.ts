/** A database that a person has to change before the service can work with it. The message has the instructions. */
export class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase'
}
