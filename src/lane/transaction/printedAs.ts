import { INSPECT } from './printed.js'

/**
 * Gives a public object what is shown of it in JSON and by Node's `util.inspect`, and so in logs. Its chain holds URLs with API
 * keys: it stays a property, and is not enumerated, since some loggers write each property by itself. So a copy
 * (`{ ...sender }`) has no chain.
 */
export function printedAs<T extends object>(object: T, shown: (this: T) => object): T {
  if (Object.hasOwn(object, 'chain')) Object.defineProperty(object, 'chain', { enumerable: false })
  return Object.assign(object, { toJSON: shown, [INSPECT]: shown })
}
