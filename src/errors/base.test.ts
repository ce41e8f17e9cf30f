import { BaseError } from 'viem'
import { describe, expect, it } from 'vitest'
import { TxlaneError } from './base.js'

const about = { code: 'STORE', fate: 'inFlight' } as const

describe('the details of an error', () => {
  const causes = [new Error('disk I/O error'), new BaseError('It failed.', { details: 'disk I/O error' })]

  it.each(causes)('that are named stand, and the cause beside them: %s', (cause) => {
    const error = new TxlaneError('Not kept.', { ...about, cause, details: 'unknown' })
    expect(error.details).toBe('unknown')
    expect(error.message).toContain('Details: unknown')
    expect(error.cause).toMatchObject({ message: cause.message })
    expect(error.walk((one) => one instanceof Error && one.message === cause.message)).not.toBeNull()
    expect(Object.keys(error)).not.toContain('cause')
  })

  it.each(causes)('that are not named are those of the cause: %s', (cause) => {
    expect(new TxlaneError('Not kept.', { ...about, cause }).details).toBe('disk I/O error')
  })
})
