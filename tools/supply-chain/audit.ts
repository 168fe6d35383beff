// Reads what `npm audit --json` has to say, whatever the registry did.

export type AuditResult =
  /** Names and severities of packages with something high or critical. */
  | { readonly completed: true; readonly severe: readonly string[]; readonly total: number }
  /** The registry could not be asked. */
  | { readonly completed: false; readonly reason: string };

interface Report {
  auditReportVersion?: number;
  vulnerabilities?: Record<string, { severity: string; range?: string }>;
  message?: string;
  error?: { summary?: string; detail?: string };
}

/** @param stdout of npm; anything */
export function readAudit(stdout: string): AuditResult {
  let report: Report;
  try {
    report = JSON.parse(stdout) as Report;
  } catch {
    return { completed: false, reason: 'npm printed no report' };
  }
  const { auditReportVersion, vulnerabilities, message, error } = report;
  if (auditReportVersion === undefined || vulnerabilities === undefined)
    return { completed: false, reason: message ?? error?.summary ?? 'npm printed no report' };
  const found = Object.entries(vulnerabilities);
  const severe = found.filter(([, { severity }]) => severity === 'high' || severity === 'critical');
  return {
    completed: true,
    severe: severe.map(([name, { severity, range = '*' }]) => `${name} ${range}: ${severity}`),
    total: found.length,
  };
}
