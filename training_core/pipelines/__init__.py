"""One module a job, found by its name: run(job, reporter) composes the stages, and imports no other job."""
