import { TxlaneError } from '../errors/base.js'
import { retryAfterMs } from '../rpc/transports/httpMessage.js'
import type { KmsEnvironment } from './environment.js'
import type { ServiceSettings } from './options.js'
import { signerError, wordsOf } from './signerError.js'
import { isTransient, NoAnswer, retryAfterOf } from './transient.js'

/** A key service, which may throttle, fail temporarily or not answer. */
export type Service = {
  /** Its name in errors. */
  readonly name: string
  /**
   * Makes a request, and retries it after a pause while the service throttles, fails or does not answer.
   *
   * @param what the requested action, for errors: `sign for 0x…`
   * @throws TxlaneError `SIGNER`, which quotes the service: at once for a refusal, otherwise after the
   *   timeout
   */
  call<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * The first pause between tries. It doubles with each try, and a random part of up to half is subtracted, so
 * that retries do not coincide.
 */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 5_000

export function createService(
  name: string,
  settings: ServiceSettings,
  { clock, random }: KmsEnvironment,
): Service {
  const { timeoutMs, requestTimeoutMs, logger } = settings

  function pauseMs(asked: number, error: unknown): number {
    const fullMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (asked - 1))
    const askedForMs = retryAfterMs(retryAfterOf(error), clock.wallNow()) ?? 0
    return Math.max(askedForMs, fullMs * (1 - random() / 2))
  }

  /** Rejects after the timeout, even if the request ignores the signal. */
  function within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    return new Promise<T>((resolve, reject) => {
      const cancel = clock.setTimer(() => {
        reject(new NoAnswer(ms))
        controller.abort()
      }, ms)
      const asking = (async () => ask(controller.signal))()
      asking.then(resolve, reject).finally(cancel)
    })
  }

  async function call<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const endMs = clock.now() + timeoutMs
    for (let asked = 1; ; asked++) {
      try {
        return await within(Math.min(requestTimeoutMs, endMs - clock.now()), ask)
      } catch (error) {
        if (error instanceof TxlaneError) throw error
        const said = wordsOf(error)
        if (!isTransient(error)) throw signerError(`${name} refused to ${what}.`, said, error)
        const restMs = pauseMs(asked, error)
        if (clock.now() + restMs >= endMs)
          throw signerError(`${name} did not ${what} in ${timeoutMs} ms (${asked} tries).`, said, error)
        const fields = {
          service: name,
          asked,
          restMs: Math.round(restMs),
          said,
        }
        logger?.warn?.(fields, `${name} did not ${what}, and is asked again`)
        await new Promise<void>((resolve) => void clock.setTimer(resolve, restMs))
      }
    }
  }

  return { name, call }
}
