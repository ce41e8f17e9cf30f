import type { Port } from './port.js'
import { createProfile, type ProfileWatch } from './profile.js'

const profiles = new WeakMap<Port, ProfileWatch>()

/** The profile of a port, shared by all users of the port and created on first use. */
export function profileOf(port: Port): ProfileWatch {
  let profile = profiles.get(port)
  if (profile === undefined) {
    profile = createProfile()
    profiles.set(port, profile)
  }
  return profile
}

/** Replaces the profile of a port, for example by one with fields set by the user. */
export function setProfile(port: Port, profile: ProfileWatch): void {
  profiles.set(port, profile)
}
