/**
 * What an account's own code threw, as its cause: the words of somebody who knows the key. It may call itself one of our
 * errors and is none.
 */
export class AccountFailure extends Error {
  override name = 'AccountFailure'

  constructor(cause: unknown) {
    super('The account could not sign.', { cause })
  }
}
