import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Refusal } from './program.js'

/** What is typed is not shown. @throws Refusal where there is nobody to ask: `instead` says which option gives the answer */
export async function askSecret(question: string, instead: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to ask for the password: give ${instead}.`)
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}

/** Yes or no, from a person. @throws Refusal where there is none: `instead` says which option stands for the answer */
export async function confirm(question: string, instead: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to ask at: give ${instead} to go on without a question.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
