/**
 * Wraps an error of an account's own code as the cause. That code knows the key, and may give its error the
 * name of ours.
 */
export class AccountFailure extends Error {
  override name = 'AccountFailure'

  constructor(cause: unknown) {
    super('The account could not sign.', { cause })
  }
}
