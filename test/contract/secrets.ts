import { generatePrivateKey } from 'viem/accounts'
import { type Leak, leaksOf } from '../support/leaks.js'

// Where providers put keys: user and password, path, query, fragment, headers.
const SECRETS = ['userKey1', 'passKey2', 'pathKey3', 'queryKey4', 'fragmentKey5', 'headerKey6']

/** The key of the account that sends. */
export const KEY = generatePrivateKey()

/** The URL of a server, with a secret wherever one can be. */
export function secretUrl(origin: string): string {
  return `${origin.replace('://', '://userKey1:passKey2@')}/v2/pathKey3?key=queryKey4#fragmentKey5`
}

/** Where a value holds one of the secrets above, or a URL beyond its origin. */
export function secretsOf(value: unknown): readonly Leak[] {
  return leaksOf(value, [...SECRETS, KEY, KEY.slice(2)])
}
