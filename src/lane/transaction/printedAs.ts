/** Symbol under which Node's console looks for an object's custom inspection. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * Defines how a public object appears in JSON and in Node's `util.inspect`, and therefore in logs. Its
 * `chain` contains URLs with API keys: it remains a property but is not enumerable, because some loggers
 * write each property by themselves. As a consequence a copy (`{ ...sender }`) has no chain.
 */
export function printedAs<T extends object>(object: T, shown: (this: T) => object): T {
  if (Object.hasOwn(object, 'chain')) Object.defineProperty(object, 'chain', { enumerable: false })
  return Object.assign(object, { toJSON: shown, [INSPECT]: shown })
}
