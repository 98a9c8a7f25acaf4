"""The controller: learns from every attempt's end, lifts, retries, trains and reports."""
