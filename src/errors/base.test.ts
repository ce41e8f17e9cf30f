import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { BaseError } from 'viem'
import { describe, expect, it } from 'vitest'
import { TxlaneError } from './base.js'
import { redactForeign } from './redact.js'
import { redactError } from './redactError.js'

const about = { code: 'STORE', fate: 'inFlight' } as const

describe('the details of an error', () => {
  const causes = [new Error('disk I/O error'), new BaseError('It failed.', { details: 'disk I/O error' })]

  it.each(causes)('are kept if they are given, and the cause beside them: %s', (cause) => {
    const error = new TxlaneError('Not kept.', { ...about, cause, details: 'unknown' })
    expect(error.details).toBe('unknown')
    expect(error.message).toContain('Details: unknown')
    expect(error.cause).toMatchObject({ message: cause.message })
    expect(error.walk((one) => one instanceof Error && one.message === cause.message)).not.toBeNull()
    expect(Object.keys(error)).not.toContain('cause')
  })

  it.each(causes)('come from the cause if they are not given: %s', (cause) => {
    expect(new TxlaneError('Not kept.', { ...about, cause }).details).toBe('disk I/O error')
  })
})

describe('the version of txlane', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const version = `txlane@${manifest.version}`
  const line = `\nVersion: ${version}`
  const made = () => new TxlaneError('Not kept.', { ...about, cause: new Error('disk I/O error') })

  it('is the package’s own, in the error and in its JSON', () => {
    expect(made().version).toBe(version)
    expect(JSON.parse(JSON.stringify(made()))).toMatchObject({ code: 'STORE', version })
  })

  it('is the last line of the message, below the version of viem', () => {
    expect(made().message).toMatch(/\nVersion: viem@[\d.]+\nVersion: txlane@[\w.-]+$/)
    expect(made().message.endsWith(line)).toBe(true)
    expect(made().shortMessage).toBe('Not kept.')
    expect(made().details).toBe('disk I/O error')
  })

  it('is in the stack and in printed errors, above the location of the error', () => {
    const { stack = '', message } = made()
    expect(stack.startsWith(`TxlaneError: ${message}\n    at made `)).toBe(true)
    expect(inspect(made())).toContain(line)
    expect(String(made())).toContain(line)
  })

  it('is not redacted as a credential', () => {
    const error = made()
    for (const hashes of ['named', 'never'] as const)
      expect(redactForeign(error.message, hashes)).toBe(error.message)
    for (const knowsKey of [true, false]) {
      const outer = redactError(new Error('outside', { cause: error }), { knowsKey }) as Error
      expect(outer.cause).toMatchObject({ version, message: error.message })
    }
  })
})
