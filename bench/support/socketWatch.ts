import { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

const SEND = 'eth_sendRawTransaction'

type Write = (this: Socket, ...parameters: unknown[]) => boolean

/** Notes when a raw transaction is first written to a socket, by whichever library, until it is disposed of. */
export function watchSends(): Disposable & { forget(): void; sentAt(): number } {
  const real = Socket.prototype.write as Write
  let at: number | undefined
  const watched: Write = function (...parameters) {
    const [bytes] = parameters
    const isSend = typeof bytes === 'string' || Buffer.isBuffer(bytes) ? bytes.includes(SEND) : false
    if (isSend) at ??= performance.now()
    return real.apply(this, parameters)
  }
  Socket.prototype.write = watched as Socket['write']
  return {
    forget() {
      at = undefined
    },
    sentAt() {
      if (at === undefined) throw new Error('nothing was written')
      return at
    },
    [Symbol.dispose]() {
      Socket.prototype.write = real as Socket['write']
    },
  }
}
