import { describe, expect, test } from 'vitest'
import type { TxlaneError } from '../errors/base.js'
import { awsError, virtualEnvironment } from './kms.fixture.js'
import { createService, HttpFailure } from './service.js'

const THROTTLED = awsError('ThrottlingException', 'Rate exceeded')

/** Calls a service whose answers are decided by `answers`. */
function ask(answers: (count: number, signal: AbortSignal) => unknown, given: object = {}) {
  const environment = virtualEnvironment()
  const { clock } = environment
  const askedAtMs: number[] = []
  const warned: { fields: Record<string, unknown>; message: string | undefined }[] = []
  const logger = {
    info: () => {},
    warn: (fields: object, message?: string) =>
      void warned.push({ fields: fields as Record<string, unknown>, message }),
  }
  const settings = { concurrency: 16, timeoutMs: 30_000, requestTimeoutMs: 5_000, logger, ...given }
  const begunMs = clock.now()
  const service = createService('The service', settings, environment)
  let ended: { value?: unknown; error?: TxlaneError } | undefined
  void service
    .call('sign', async (signal) => {
      askedAtMs.push(clock.now() - begunMs)
      return answers(askedAtMs.length - 1, signal)
    })
    .then(
      (value) => {
        ended = { value }
      },
      (error: TxlaneError) => {
        ended = { error }
      },
    )
  return {
    clock,
    askedAtMs,
    warned,
    async end() {
      await clock.runUntil(() => ended !== undefined, 1_000_000)
      return { ...ended, afterMs: clock.now() - begunMs }
    },
  }
}

const failsTimes = (times: number, error: unknown) => (count: number) => {
  if (count < times) throw error
  return 'signed'
}

describe('a throttling service', () => {
  test('is retried after pauses that double, between a minimum and a maximum', async () => {
    const asking = ask(failsTimes(12, THROTTLED), { timeoutMs: 120_000 })
    expect((await asking.end()).value).toBe('signed')
    const pauses = asking.askedAtMs.slice(1).map((atMs, index) => atMs - (asking.askedAtMs[index] as number))
    for (const [index, pauseMs] of pauses.entries()) {
      const fullMs = Math.min(5_000, 100 * 2 ** index)
      expect(pauseMs).toBeGreaterThanOrEqual(Math.floor(fullMs / 2))
      expect(pauseMs).toBeLessThanOrEqual(fullMs)
    }
    expect(Math.max(...pauses)).toBeGreaterThan(2_500)
  })

  test('gets the pause that it asks for', async () => {
    const asking = ask(failsTimes(1, new HttpFailure(429, 'slow down', '7')))
    expect((await asking.end()).value).toBe('signed')
    expect(asking.askedAtMs).toEqual([0, 7_000])
  })

  test('reports each retry to the logger, with the reason', async () => {
    const asking = ask(failsTimes(2, THROTTLED))
    await asking.end()
    expect(asking.warned).toHaveLength(2)
    expect(asking.warned[0]).toEqual({
      fields: {
        service: 'The service',
        asked: 1,
        restMs: expect.any(Number),
        said: 'ThrottlingException: Rate exceeded',
      },
      message: 'The service did not sign, and is asked again',
    })
  })

  test('fails with its message if it throttles until the timeout', async () => {
    const { error, afterMs } = await ask(failsTimes(Number.POSITIVE_INFINITY, THROTTLED)).end()
    expect(error).toMatchObject({
      code: 'SIGNER',
      fate: 'notExecuted',
      details: 'ThrottlingException: Rate exceeded',
      cause: { name: 'ThrottlingException' },
    })
    expect(error?.shortMessage).toMatch(/^The service did not sign in 30000 ms \(\d+ tries\)\.$/)
    expect(afterMs).toBeLessThanOrEqual(30_000)
    expect(afterMs).toBeGreaterThan(25_000)
  })

  test('fails at once if it asks for a longer pause than the time left', async () => {
    const { error, afterMs } = await ask(failsTimes(1, new HttpFailure(503, '', '60'))).end()
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted', details: 'HttpFailure: HTTP 503' })
    expect(afterMs).toBe(0)
  })
})

describe('a refusing service', () => {
  test('is not retried, and is quoted', async () => {
    const disabled = awsError(
      'DisabledException',
      'arn:aws:kms:eu-central-1:111122223333:key/1234 is disabled.',
    )
    const asking = ask(failsTimes(1, disabled))
    const { error } = await asking.end()
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error?.message).toContain('The service refused to sign.')
    expect(error?.message).toContain(
      'DisabledException: arn:aws:kms:eu-central-1:111122223333:key/1234 is disabled.',
    )
    expect(asking.askedAtMs).toHaveLength(1)
  })

  test('is quoted in part if its message is endless', async () => {
    const { error } = await ask(failsTimes(1, new Error('no '.repeat(10_000)))).end()
    expect(error?.details.length).toBeLessThan(600)
  })

  test('does not disclose a key in its message', async () => {
    const secret = 'c0ffee5eed0badc0de1234567890abcdef00112233445566778899aabbccddee'
    const asking = ask((count) => {
      throw count === 0
        ? Object.assign(new Error(`bad ${secret}`), { code: 'ECONNRESET' })
        : new Error(`worse ${secret}`)
    })
    const { error } = await asking.end()
    expect(`${error?.stack} ${JSON.stringify([error, asking.warned])}`).not.toContain(secret)
  })
})

describe('a service without an answer', () => {
  test('is retried, and the open request is aborted', async () => {
    const signals: AbortSignal[] = []
    const asking = ask((count, signal) => {
      signals.push(signal)
      return count < 2 ? new Promise(() => {}) : 'signed'
    })
    expect((await asking.end()).value).toBe('signed')
    expect(asking.askedAtMs[1]).toBeGreaterThan(5_000)
    expect(asking.askedAtMs[1]).toBeLessThanOrEqual(5_100)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
  })

  test('fails after the timeout, and its later answer changes nothing', async () => {
    const rejections: ((error: Error) => void)[] = []
    const asking = ask(() => new Promise((_, reject) => void rejections.push(reject)))
    const { error, afterMs } = await asking.end()
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error?.details).toMatch(/no answer in \d+ ms/)
    expect(afterMs).toBeLessThanOrEqual(30_000)
    for (const reject of rejections) reject(new Error('too late'))
    await asking.clock.run()
    expect(asking.clock.pendingTimers).toBe(0)
  })

  test('leaves no timer behind after an answer', async () => {
    const asking = ask(() => 'signed')
    await asking.end()
    expect(asking.clock.pendingTimers).toBe(0)
  })
})
