import { performance } from 'node:perf_hooks'

/** Notes when a raw transaction is first handed to `fetch`, by whichever library, until it is disposed of. */
export function watchSends(): Disposable & { forget(): void; sentAt(): number } {
  const real = globalThis.fetch
  let at: number | undefined
  globalThis.fetch = (input, init) => {
    if (typeof init?.body === 'string' && init.body.includes('eth_sendRawTransaction'))
      at ??= performance.now()
    return real(input, init)
  }
  return {
    forget() {
      at = undefined
    },
    sentAt() {
      if (at === undefined) throw new Error('nothing was handed to fetch')
      return at
    },
    [Symbol.dispose]() {
      globalThis.fetch = real
    },
  }
}
