import { generatePrivateKey } from 'viem/accounts'
import { type Leak, leaksOf } from '../support/leaks.js'

// The places where providers put keys: user and password, path, query, fragment, headers.
const SECRETS = ['userKey1', 'passKey2', 'pathKey3', 'queryKey4', 'fragmentKey5', 'headerKey6']

/** The private key of the account that sends. */
export const KEY = generatePrivateKey()

/** The URL of a server, with a secret at every possible place. */
export function secretUrl(origin: string): string {
  return `${origin.replace('://', '://userKey1:passKey2@')}/v2/pathKey3?key=queryKey4#fragmentKey5`
}

/** The places in a value that hold one of the secrets above, or a URL beyond its origin. */
export function secretsOf(value: unknown): readonly Leak[] {
  return leaksOf(value, [...SECRETS, KEY, KEY.slice(2)])
}
